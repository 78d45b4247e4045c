//go:build !unix

package serving

// descriptors returns how many files and connections the program may have open.
func descriptors() int { return usualDescriptors }
