"""A service and its page: `masker serve`. Only that imports this room, whose packages come with the extra `serve`."""
