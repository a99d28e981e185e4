package pgconfig

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/tickgate/tickgate/adapter/pgconfig/policyfile"
	"github.com/tickgate/tickgate/policy"
)

const (
	// DefaultEvery is how often a file is looked at.
	DefaultEvery = time.Second

	// settle is how long a file must have stayed the same before it is believed: a
	// YAML file that is written in place is valid while half of it is missing.
	settle = 50 * time.Millisecond
	// unsettled is how often a file is looked at in vain before that is a fault.
	unsettled = 20
)

// FileConfig says which file is followed. Path is required.
type FileConfig struct {
	// Path names the file: JSON or YAML, see [policyfile.Parse]. Links are followed anew at
	// each look.
	Path string
	// Every is how often the file is looked at, at least 10 ms. 0: DefaultEvery. A look
	// reads the file: content tells what times and sizes do not, and costs microseconds.
	Every time.Duration

	Log *slog.Logger // nil: slog.Default()
}

// File is a file as a [Source] named "file". It is followed by its content: replaced
// by a rename, written in place, or a link that is set to another file, as Kubernetes
// does with a mounted ConfigMap, it is read again when the content is another and has
// stayed so for 50 ms. Its version is the beginning of the SHA-256 of the content.
//
// A file that goes away, or cannot be read, is a fault: the last good set stays.
type File struct {
	state
	cfg  FileConfig
	turn chan struct{} // holds a token while nobody reads
	seen string        // version that was judged last, good or not; of who holds the token
}

var _ Source = (*File)(nil)

// NewFile returns the source; nothing is read yet. The error lists every fault of the
// configuration.
func NewFile(c FileConfig) (*File, error) {
	var faults []error
	if c.Path == "" {
		faults = append(faults, &policy.ConfigError{Field: "Path", Reason: "is required: name a JSON or YAML file"})
	}
	if c.Every == 0 {
		c.Every = DefaultEvery
	}
	if c.Every < shortest {
		faults = append(faults, &policy.ConfigError{Field: "Every", Value: c.Every.String(),
			Reason: "must be at least " + shortest.String() + ", or 0 for " + DefaultEvery.String()})
	}
	if len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	f := &File{cfg: c, turn: make(chan struct{}, 1)}
	f.init("file", c.Log)
	f.log = f.log.With("path", c.Path)
	f.turn <- struct{}{}
	return f, nil
}

// Load reads the file now, whether or not its content is another. It takes 50 ms.
func (f *File) Load(ctx context.Context) error { return f.look(ctx, true) }

// Run looks at the file until ctx is done.
func (f *File) Run(ctx context.Context, changed func()) {
	f.follow(changed)
	for ctx.Err() == nil {
		_ = f.look(ctx, false)
		sleep(ctx, f.cfg.Every)
	}
}

// look reads the file, and judges it if its content is another than last time, or if
// it must.
func (f *File) look(ctx context.Context, must bool) error {
	select {
	case <-f.turn:
		defer func() { f.turn <- struct{}{} }()
	case <-ctx.Done():
		return ctx.Err()
	}
	text, version, err := f.read()
	for try := 0; err == nil && (must || version != f.seen); try++ {
		if try == unsettled {
			err = fmt.Errorf("%s: does not stay the same for %v: replace it by a rename", f.cfg.Path, settle)
			break
		}
		before := version
		sleep(ctx, settle)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if text, version, err = f.read(); err == nil && version == before {
			return f.judge(text, version)
		}
	}
	switch {
	case err != nil:
		f.seen = "" // so that it is judged when it is back
		return f.fault(Failed, err)
	case f.Version() == version:
		f.good()
	}
	return f.LastError()
}

func (f *File) read() (text []byte, version string, err error) {
	text, err = policyfile.Read(f.cfg.Path)
	sum := sha256.Sum256(text)
	return text, hex.EncodeToString(sum[:6]), err
}

func (f *File) judge(text []byte, version string) error {
	f.seen = version
	set, err := policyfile.Parse(f.cfg.Path, text)
	if err != nil {
		return f.fault(Rejected, err)
	}
	f.accept(set, version)
	return nil
}
