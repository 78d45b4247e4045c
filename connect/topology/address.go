package topology

import "strings"

// join returns an address of a host and a port; a host with colons gets brackets.
func join(host, port string) string {
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	return host + ":" + port
}

// hostOf returns the host of an address, without brackets.
func hostOf(address string) string {
	i := strings.LastIndexByte(address, ':')
	return strings.Trim(address[:max(i, 0)], "[]")
}

// portAlone returns the port of an address without a host.
func portAlone(address string) (port string, ok bool) {
	port, ok = strings.CutPrefix(address, ":")
	return port, ok && port != "" && strings.Trim(port, "0123456789") == ""
}
