package envoyrls

import "strconv"

// Apply puts other files into force, in place of all there were, while requests are
// answered. What is used of a limit stays used, also where its numbers change, as long
// as the keys and values that lead to it stay. If anything is wrong with any of the
// files nothing changes, and every fault is reported. Files that are those in force
// change nothing. It takes about 50 ms for a million keys; concurrent calls wait for
// each other.
//
// The gate can name at most 65,536 limits in its life; where files come up with ever new
// ones, Apply fails then.
func (s *Server) Apply(files ...File) error {
	rules, err := parse(files) // before the lock, for which a request may wait
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		err = s.apply(rules)
	}
	return s.note(err)
}

// Load is Apply of what [Read] reads.
func (s *Server) Load(paths ...string) error {
	files, err := Read(paths...)
	if err == nil {
		return s.Apply(files...)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.note(err)
}

func (s *Server) apply(rules *rules) error {
	if sameFiles(rules.files, s.rules.Load().files) {
		return nil
	}
	who := s.source + "@" + strconv.FormatUint(s.version.Load()+1, 10)
	if err := s.gate.As(who).Apply(rules.set); err != nil {
		return err
	}
	s.rules.Store(rules)
	s.version.Add(1)
	s.count.loaded.Add(1)
	return nil
}

// note keeps the outcome of a set of files.
func (s *Server) note(err error) error {
	if err != nil {
		s.count.loadFailed.Add(1)
	}
	s.last.Store(&loadError{err})
	return err
}

// Current returns a copy of the files in force.
func (s *Server) Current() []File { return cloneFiles(s.rules.Load().files) }

// Version counts the sets of files that were in force: 1 after New, one more with each
// that Apply or Load changed something by.
func (s *Server) Version() uint64 { return s.version.Load() }

// LastError returns what was wrong with the last files that were to come into force, nil
// if nothing was. Those of before are in force then.
func (s *Server) LastError() error { return s.last.Load().err }
