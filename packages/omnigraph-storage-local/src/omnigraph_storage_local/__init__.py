"""OmniGraph storage on a local file system."""
