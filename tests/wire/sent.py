"""What an SDK put on the wire: the members of a request's body, each as the very text that was sent."""

import json

__all__ = ["grows", "members"]


def members(body: bytes) -> dict[str, str]:
    """Return the members of a JSON object, their values as they stand in the text."""
    text, found, place = body.decode(), dict[str, str](), 1
    decoder = json.JSONDecoder()
    while text[place] != "}":
        place += text[place] in ", \n"
        if text[place] in ", \n":
            continue
        key, place = decoder.raw_decode(text, place)
        place += 1 + (text[place + 1] == " ")
        _, end = decoder.raw_decode(text, place)
        found[key], place = text[place:end], end
    return found


def grows(before: str, after: str) -> bool:
    """Say whether a list was only appended to, byte for byte."""
    return after == before or after.startswith(before.removesuffix("]") + ",") or before == "[]"
