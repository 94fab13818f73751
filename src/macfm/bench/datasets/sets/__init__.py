"""The datasets themselves, one file each or one for a small group."""
