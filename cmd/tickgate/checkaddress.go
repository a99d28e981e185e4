package main

import (
	"errors"
	"fmt"
	"net"
	"strconv"

	"github.com/tickgate/tickgate/redisync"
)

// unservable returns what serve would find out when it opens ports and asks Redis: ports
// that are given twice, and the address of a Redis that is none.
func (c *checkConfigCmd) unservable() error {
	faults := []error{samePorts(c.ports())}
	if c.Redis.URL != "" && c.Redis.URL != off {
		faults = append(faults, prefixed("--redis", redisync.CheckURL(c.Redis.URL)))
	}
	return errors.Join(faults...)
}

// samePorts returns a fault for each two ports that cannot both be listened on: of one
// number, and of one host or of all.
func samePorts(ports []port) error {
	var faults []error
	type place struct{ flag, address, host, number string }
	var places []place
	for _, p := range ports {
		host, number, err := net.SplitHostPort(p.address)
		n, notNumber := strconv.Atoi(number)
		if err != nil || notNumber != nil || n == 0 { // none, a fault that is told already, or any that is free
			continue
		}
		switch ip := net.ParseIP(host); {
		case host == "localhost":
			host = "127.0.0.1"
		case ip.IsUnspecified():
			host = ""
		case ip != nil:
			host = ip.String()
		}
		for _, q := range places {
			if q.number == strconv.Itoa(n) && (q.host == host || q.host == "" || host == "") {
				faults = append(faults, fmt.Errorf("--%s %s: is the same port as --%s %s; give each its own", p.flag, p.address, q.flag, q.address))
			}
		}
		places = append(places, place{p.flag, p.address, host, strconv.Itoa(n)})
	}
	return errors.Join(faults...)
}
