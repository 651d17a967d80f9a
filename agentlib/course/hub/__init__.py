"""A class on a hub: the folder that learners are handed, and the files that set up a JupyterHub."""
