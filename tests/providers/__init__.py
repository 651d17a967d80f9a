"""The providers' adapters, driven through the official clients, over HTTP, by a server on this computer."""
