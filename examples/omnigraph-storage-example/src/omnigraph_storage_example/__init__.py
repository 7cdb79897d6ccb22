"""An example of an OmniGraph storage backend: ``example://NAME/path`` in SQLite databases of one directory."""
