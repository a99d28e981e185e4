package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// The most that can be asked for, so that a slip of a digit exhausts neither the
// machine nor the reader's patience.
const (
	maxCallers     = 1_000_000
	maxConnections = 1_000
	maxRounds      = 100
	maxRequests    = 1_000_000_000
)

// check completes the options and reports every fault of them.
func (o *options) check() error {
	if o.callers == 0 {
		o.callers = 10_000
		if o.growth || o.serve == "growth" {
			o.callers = 100_000
		}
	}
	var faults []error
	within := func(name string, v, least, most int) {
		if v < least || v > most {
			faults = append(faults, fmt.Errorf("-%s is %d: must be %d to %d", name, v, least, most))
		}
	}
	within("port", o.port, 0, 65535)
	within("callers", o.callers, 1, maxCallers)
	within("connections", o.connections, 1, maxConnections)
	within("clients", o.clients, 1, maxConnections)
	within("rounds", o.rounds, 1, maxRounds)
	within("requests", o.requests, 1, maxRequests)
	within("warmup", o.warmup, 1, maxRequests)
	if o.round < time.Second || o.round > time.Minute || o.round%time.Second != 0 {
		faults = append(faults, fmt.Errorf("-round is %s: must be whole seconds, 1s to 1m", o.round))
	}
	if o.serve != "" && !slices.Contains(kinds, o.serve) {
		faults = append(faults, fmt.Errorf("-serve is %q: must be one of %s", o.serve, strings.Join(kinds, ", ")))
	}
	if o.serve != "" && o.growth {
		faults = append(faults, errors.New("-serve and -growth exclude each other: -growth starts its server itself"))
	}
	if o.take && (o.growth || o.serve != "") {
		faults = append(faults, errors.New("-take excludes -growth and -serve"))
	}
	if o.growth && o.warmup < 2*o.callers {
		faults = append(faults, fmt.Errorf("-warmup is %d: must be at least twice the -callers, so that each of the %d was seen", o.warmup, o.callers))
	}
	all := loaded
	if o.take {
		all = takes
	}
	if o.servers == "" {
		o.servers = strings.Join(all, ",")
	}
	names := strings.Split(o.servers, ",")
	for i, name := range names {
		switch {
		case !slices.Contains(all, name):
			faults = append(faults, fmt.Errorf("-servers has %q: must be of %s", name, strings.Join(all, ", ")))
		case slices.Contains(names[:i], name):
			faults = append(faults, fmt.Errorf("-servers has %s twice", name))
		}
	}
	if names[0] != all[0] {
		faults = append(faults, fmt.Errorf("-servers must begin with %s: the others are compared with it", all[0]))
	}
	return errors.Join(faults...)
}
