"""Set-up, development install and packaging of onexpu. Nothing here is needed at run time."""
