package sqlstore

import (
	"context"
	"database/sql/driver"
	"hash/crc32"
	"time"
)

// turnClass tells the turns from other advisory locks in the database.
const turnClass = 0x6b77

// turnAgain says how long it is until a turn that another program has is asked for again.
const turnAgain = time.Second

// Turn implements history.Turns, by advisory locks of one session: they end with it, also where the program was
// killed. SQLite is one program's, which has its turns.
func (s *Store) Turn(ctx context.Context, target string) (end func(), err error) {
	if !s.sharedForm {
		return func() {}, nil
	}
	of := int32(crc32.ChecksumIEEE([]byte(target)))
	for {
		took, err := s.tryTurn(ctx, of)
		if err != nil {
			return nil, err
		}
		if took {
			return func() { s.endTurn(of) }, nil
		}
		timer := time.NewTimer(turnAgain)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil, ctx.Err()
		case <-timer.C:
		}
	}
}

// tryTurn takes a turn unless another program has it.
func (s *Store) tryTurn(ctx context.Context, of int32) (took bool, err error) {
	s.turning.Lock()
	defer s.turning.Unlock()
	if s.turns == nil {
		if s.turns, err = s.db.Conn(ctx); err != nil {
			s.turns = nil
			return false, err
		}
	}
	err = s.turns.QueryRowContext(ctx, "SELECT pg_try_advisory_lock($1, $2)", int32(turnClass), of).Scan(&took)
	if err != nil {
		s.dropTurns()
	}
	return took, err
}

// endTurn gives a turn back.
func (s *Store) endTurn(of int32) {
	ctx, done := context.WithTimeout(context.Background(), 5*time.Second)
	defer done()
	s.turning.Lock()
	defer s.turning.Unlock()
	if s.turns == nil {
		return
	}
	if _, err := s.turns.ExecContext(ctx, "SELECT pg_advisory_unlock($1, $2)", int32(turnClass), of); err != nil {
		s.dropTurns()
	}
}

// dropTurns ends the session that has the turns: the next turn begins another one.
func (s *Store) dropTurns() {
	_ = s.turns.Raw(func(any) error { return driver.ErrBadConn }) // it must not be used again: it may have turns
	_ = s.turns.Close()
	s.turns = nil
}
