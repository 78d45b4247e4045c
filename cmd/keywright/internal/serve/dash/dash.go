// Package dash has the dashboard of `keywright serve`: a page in the browser that reads
// the API. Its sources are in web; dist has what Vite makes of them, so that a build of
// keywright takes Go alone. scripts/build-dashboard.sh builds dist.
package dash

import (
	"embed"
	"io/fs"
)

//go:embed dist
var dist embed.FS

// Files returns the built files: index.html, and what it refers to. Names under assets
// have a digest in them, so that a browser may keep those files for ever.
func Files() fs.FS {
	files, err := fs.Sub(dist, "dist")
	if err != nil {
		return dist // dist is the name of a folder: this cannot be
	}
	return files
}
