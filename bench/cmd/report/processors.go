package main

import (
	"strconv"
	"strings"
)

// processors are the ticks that all processors have spent since the start of the
// system.
type processors struct {
	stolen, all int64
}

func readProcessors() processors { return parseProcessors(text("/proc/stat")) }

// parseProcessors reads the first line of /proc/stat: user, nice, system, idle,
// iowait, irq, softirq, steal; what follows is part of user and nice.
func parseProcessors(stat string) processors {
	const steal = 7
	line, _, _ := strings.Cut(stat, "\n")
	fields := strings.Fields(line)
	if len(fields) < steal+2 || fields[0] != "cpu" {
		return processors{}
	}
	var p processors
	for i, field := range fields[1 : steal+2] {
		ticks, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return processors{}
		}
		p.all += ticks
		if i == steal {
			p.stolen = ticks
		}
	}
	return p
}

// stolenSince is the share of the time since before that the host of this virtual
// machine gave to others. It is false where the system does not tell.
func (p processors) stolenSince(before processors) (share float64, ok bool) {
	if p.all <= before.all {
		return 0, false
	}
	return float64(p.stolen-before.stolen) / float64(p.all-before.all), true
}
