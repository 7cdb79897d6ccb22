"""OmniGraph storage on S3 and servers that speak it."""
