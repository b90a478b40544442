"""Memory as tools of an agent: the Model Context Protocol, over HTTP and over stdio."""
