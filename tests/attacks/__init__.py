"""What an attacker tried, each as a test that failed once: exposure, widening, dispatch, odd input, processes."""
