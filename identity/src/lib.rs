//! What the parts of one run know each other by: a certificate and tokens.
