"""The providers' adapters, driven through the official clients, over HTTP, against a server on this computer."""
