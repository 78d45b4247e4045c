// Package notice says what happens to constructs and connections beside the calls
// of a program: a job died, a lease was lost, a value came from a cache, a
// connection was made again. Hooks of a client receive them.
//
// API: may change until 1.0.
package notice

import "time"

// Notice represents something that happened to a construct: a job died, a lease was
// lost, a value came from a cache. It has the names of the declaration and never
// an id, a key or a value.
type Notice struct {
	Kind    Kind
	Entry   string        // "tasks", "" for what belongs to the client
	Elapsed time.Duration // what Kind says it is; 0: it says nothing
	Attempt int           // of Reconnecting: which one since the connection was lost; else 0
	Dropped int           // of a notice of a connection: how many just before it were dropped, as a hook was slow
	Err     error         // why, without keys and values; nil where there is no reason
}

// Kind says what happened.
type Kind string

// The kinds of notices.
const (
	JobDone    Kind = "job_done"    // a handler returned nil; Elapsed is how long it ran
	JobFailed  Kind = "job_failed"  // a handler returned an error or panicked; Elapsed is how long it ran
	JobRetried Kind = "job_retried" // a failed job waits for its next attempt; Elapsed is how long it waits
	JobDead    Kind = "job_dead"    // a job is dead: its attempts are used up, or its workers died too often

	JobLost Kind = "job_lost" // a worker has lost a job that it worked on: its lease is over, or another one has it

	MessageDone   Kind = "message_done"   // a consumer has handled a message; Elapsed is how long it took
	MessageFailed Kind = "message_failed" // its handler returned an error or panicked; Elapsed is how long it ran
	DeadLetter    Kind = "dead_letter"    // a message was put among the dead letters
	MessageLost   Kind = "message_lost"   // a consumer has lost a message whose handler ran: another one has it

	LockAcquired Kind = "lock_acquired" // Elapsed is how long the caller waited
	LockReleased Kind = "lock_released" // Elapsed is how long it was held
	LockLost     Kind = "lock_lost"     // a holder learned that its lease is over; Elapsed as for LockReleased

	// LeaseLost is of the process that swept, relieved a full server or executed a plan:
	// it is not the one that may any more. Elapsed is how long it was.
	LeaseLost Kind = "lease_lost"

	CacheHit   Kind = "cache_hit"   // a value was there
	CacheMiss  Kind = "cache_miss"  // no value was there, and this caller did not load it
	CacheLoad  Kind = "cache_load"  // a loader ran; Elapsed is how long
	CacheStale Kind = "cache_stale" // an old value was returned: a new one is loaded, or loading failed

	Disconnected Kind = "disconnected" // connections to a server are lost; Err is why
	Reconnecting Kind = "reconnecting" // a lost connection is tried again; Elapsed is how long there is none
	Reconnected  Kind = "reconnected"  // a lost connection was made again; Elapsed is how long there was none

	// ChannelRefused is of a channel to which the login may not subscribe any more:
	// waiters and workers ask once a second.
	ChannelRefused Kind = "channel_refused"
)
