package redisync

// list is a doubly linked list of records, threaded through them: a record is in one
// list at most, and moving it allocates nothing.
type list struct {
	head, tail *record
	n          int
}

// push appends r, taking it from where it was.
func (l *list) push(r *record) {
	if r.in != nil {
		r.in.remove(r)
	}
	r.in, r.prev, r.next = l, l.tail, nil
	if l.tail == nil {
		l.head = r
	} else {
		l.tail.next = r
	}
	l.tail = r
	l.n++
}

// remove takes r out of l, which it must be in.
func (l *list) remove(r *record) {
	if r.prev == nil {
		l.head = r.next
	} else {
		r.prev.next = r.next
	}
	if r.next == nil {
		l.tail = r.prev
	} else {
		r.next.prev = r.prev
	}
	r.in, r.prev, r.next = nil, nil, nil
	l.n--
}

// classes is the number of classes of urgency. Records of the upper half have used
// half of their credit: they are sent as soon as that is noticed. The others wait for
// the interval.
const (
	classes = 8
	urgent  = classes / 2
)

// queue holds the records that have something to tell, by urgency.
type queue [classes]list

// class is the urgency of pending tokens of a credit.
func class(pending, credit int64) int {
	if pending >= credit {
		return classes - 1
	}
	return int(max(0, pending) * classes / credit) // credit is below 2^31
}

// pop takes out the first record of the most urgent class that is not below floor; nil:
// there is none.
func (q *queue) pop(floor int) *record {
	for c := classes - 1; c >= floor; c-- {
		if r := q[c].head; r != nil {
			q[c].remove(r)
			return r
		}
	}
	return nil
}

func (q *queue) len() (n int) {
	for c := range q {
		n += q[c].n
	}
	return n
}
