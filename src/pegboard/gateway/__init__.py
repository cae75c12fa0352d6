"""Doors for agents over the network and over stdio: MCP, and the same verbs as JSON.

They know the service and the providers, never an adapter.
"""
