package kernel

import "github.com/redis/rueidis"

// What packages of constructs use of the client library, by names of this package: none of
// them imports it.
type (
	// Reply represents what a server answers to a command, or why it did not.
	Reply = rueidis.RedisResult
	// Value represents a part of a reply.
	Value = rueidis.RedisMessage
	// Builder makes commands.
	Builder = rueidis.Builder
	// Command represents a command that is to be sent.
	Command = rueidis.Completed
	// Commands represents several of them.
	Commands = rueidis.Commands
	// Cacheable represents a command whose reply may be kept in this process.
	Cacheable = rueidis.Cacheable
	// Raw represents the client library's client, as Client.Raw gives it.
	Raw = rueidis.Client
	// Dedicated represents a connection for one caller.
	Dedicated = rueidis.DedicatedClient
	// ServerError represents an error that a server answered.
	ServerError = rueidis.RedisError

	// ScanEntry represents a page of a scan.
	ScanEntry = rueidis.ScanEntry
	// ZScore represents a member of a sorted set.
	ZScore = rueidis.ZScore
	// XRangeEntry represents an entry of a stream.
	XRangeEntry = rueidis.XRangeEntry
	// XRangeSlice represents one with its fields in their order.
	XRangeSlice = rueidis.XRangeSlice
	// XRangeFieldValue represents a field of one.
	XRangeFieldValue = rueidis.XRangeFieldValue
)

// InCluster reports whether a client is of a cluster.
func InCluster(c Raw) bool { return c.Mode() == rueidis.ClientModeCluster }

// IsNil reports whether a server answered that there is nothing.
func IsNil(err error) bool { return rueidis.IsRedisNil(err) }

// IsServerError returns the error that a server answered; ok is false for any other.
func IsServerError(err error) (answered *ServerError, ok bool) { return rueidis.IsRedisErr(err) }

// NewReply makes a reply of a part of another one.
func NewReply(v Value, err error) Reply { return rueidis.NewResult(v, err) }
