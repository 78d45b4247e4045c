//go:build !unix

package command

// descriptors returns how many files and connections the program may have open.
func descriptors() int { return usualDescriptors }
