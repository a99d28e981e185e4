package main

import (
	"fmt"
	"runtime"

	"github.com/tickgate/tickgate/bench/internal/load"
	"github.com/tickgate/tickgate/bench/internal/peer"
)

// plan is what is measured and how often.
type plan struct {
	quick  bool
	rounds int
	small  []job // in every round
	large  []job // those with a million keys, in every second round from the first

	memoryLibs []string
	memoryKeys int
}

// job is one process of benchmarks.
type job struct {
	name      string // for people
	pattern   string // of -test.bench, one expression for each part of a name
	benchtime string
	count     int // samples
}

// largeEvery is how many rounds there are to one with the large jobs, which take
// as many samples instead: to fill a limiter with a million keys takes longer than
// a sample, and is done once for all samples of a process.
const largeEvery = 2

// plan returns the jobs for the options.
//
// A sample is a time for most, and a number of calls with a million keys, so that
// a limiter which takes microseconds does not take ten times as long to measure as
// one which does not.
func (o options) plan() plan {
	p := plan{quick: o.quick, rounds: 6, memoryKeys: 1_000_000}
	short, calls, count := "200ms", "200000x", largeEvery
	if o.quick {
		p.rounds, p.memoryKeys = 1, 100_000
		short, calls, count = "50ms", "20000x", 1
	}
	if o.rounds > 0 {
		p.rounds = o.rounds
	}
	small := func(name, pattern string) {
		p.small = append(p.small, job{name, pattern, short, 1})
	}
	large := func(name, pattern string) {
		p.large = append(p.large, job{name + ", " + load.Label(1_000_000) + " keys", pattern, calls, count})
	}
	small("floor", "^BenchmarkFloor$")
	small("paths", "^BenchmarkGate$/./^clock=/^keys=(1|10k)$")
	small("retries", "^BenchmarkIdem$")
	small("order entry", "^BenchmarkSeed$")
	large("paths", "^BenchmarkGate$/./^clock=/^keys=(1M|room|pressure)$")
	p.memoryLibs = []string{"tickgate"}
	for _, lib := range peer.All() {
		pattern := fmt.Sprintf("^BenchmarkPeer$/^lib=%s$/^keys=", lib.Name)
		small("peer "+lib.Name, pattern+"(1|10k)$")
		if lib.Keyed {
			large("peer "+lib.Name, pattern+"1M$")
			p.memoryLibs = append(p.memoryLibs, lib.Name)
		}
	}
	if runtime.GOOS != "linux" {
		p.memoryLibs = nil // the figures come from /proc
	}
	return p
}

// benchtime says how long a sample is.
func (p plan) benchtime() string {
	return fmt.Sprintf("%s; %s with a million keys", p.small[0].benchtime, p.large[0].benchtime)
}

// jobs are those of round number r, the first being 1.
func (p plan) jobs(r int) []job {
	jobs := p.small
	if (r-1)%largeEvery == 0 {
		jobs = append(jobs[:len(jobs):len(jobs)], p.large...)
	}
	return jobs
}
