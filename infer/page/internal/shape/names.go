package shape

import "strings"

// Set returns the words of a text.
func Set(words string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(words) {
		m[w] = true
	}
	return m
}

// Words that say what is no key, and of what a key is.
var (
	LockWords    = Set("lock locks mutex locked dlock redlock")
	ChannelWords = Set("channel channels pubsub")

	// metaNames are placeholders that stand for a part of a naming scheme.
	metaNames = Set("purpose domain resource identifier subidentifier component type namespace resourcetype module " +
		"app application service project env environment entity object objecttype subkey datatype keytype prefix suffix " +
		"category context " +
		"feature team system scope field attribute property usage sub qualifier class method period kind subtype function 用途")

	// generic are words that do not say of whom an id is.
	generic = Set("info data detail details meta metadata status state result results profile settings config cache " +
		"cached lock locks list lists set sets idx index by key keys item items value count counter counts total stats " +
		"stat summary latest recent current temp tmp history log logs queue heartbeat type active pending all v1 v2")

	// schemes are words before a colon that begin something else than a key.
	schemes = Set("http https redis rediss valkey ftp file jdbc mongodb postgres postgresql mysql amqp ws wss mailto " +
		"urn arn data javascript tel sha256 sha1 md5 std npm node docker localhost host port image python golang nginx " +
		"alpine ubuntu debian https git ssh tcp udp unix todo fixme note warning error info debug foreach v-on v-bind " +
		"xmlns com io net eslint gradle maven pip gem")
	// alwaysSchemes begin nothing else whatever follows.
	alwaysSchemes = Set("http https ftp jdbc mongodb postgres postgresql mysql amqp wss mailto urn arn localhost " +
		"sha256 com xmlns std")
	pathRoots = Set("src app lib bin usr etc var home opt tmp cmd pkg internal test tests docs api node_modules " +
		"dist build public static assets v1 v2 github.com")
	addressNames = Set("port redis_port redisport port_number path filepath file_path filename file_name line tag " +
		"version " +
		"name image url host hostname message text string number address base64 type mime")
	portNames = Set("port redis_port redisport port_number")
)
