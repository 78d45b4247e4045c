package built

// cutFrom is the commit that a release was cut from. Only `make release` writes this file.
const cutFrom = ""
