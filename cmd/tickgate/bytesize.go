package main

import (
	"fmt"
	"strconv"
	"strings"
)

// byteSize is a number of bytes on the command line: "4096", "64KiB", "1MiB".
type byteSize int64

var byteUnits = [...]struct {
	name  string
	bytes byteSize
}{{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"B", 1}}

// UnmarshalText is called by the parser.
func (b *byteSize) UnmarshalText(text []byte) error {
	number, unit := string(text), byteSize(1)
	for _, u := range byteUnits {
		if short, ok := strings.CutSuffix(number, u.name); ok {
			number, unit = short, u.bytes
			break
		}
	}
	n, err := strconv.ParseUint(number, 10, 63)
	if err != nil || byteSize(n) > (1<<62)/unit {
		return fmt.Errorf("%.40q must be a whole number of bytes, KiB, MiB or GiB, as in 64KiB", text)
	}
	*b = byteSize(n) * unit
	return nil
}

func (b byteSize) String() string {
	for _, u := range byteUnits {
		if b >= u.bytes && b%u.bytes == 0 {
			return strconv.FormatInt(int64(b/u.bytes), 10) + u.name
		}
	}
	return "0B"
}
