package kernel

// noDatabase is the database of a client that was made of another one.
const noDatabase = -1

// Database returns the number of the database that the keys are in; -1: it is not
// known, since New has made the client. Channels are shared by all databases of a
// server: a message that is about a key says in which one it is.
func (c *Client) Database() int { return c.database }
