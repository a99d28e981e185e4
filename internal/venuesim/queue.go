package venuesim

// message is on its way.
type message struct {
	Delivery
	costs []int64
	seq   int64 // order of sending
}

// queue is a heap (container/heap) of messages by arrival, then by sending.
type queue []message

func (q queue) Len() int { return len(q) }

func (q queue) Less(i, j int) bool {
	if q[i].Arrived != q[j].Arrived {
		return q[i].Arrived < q[j].Arrived
	}
	return q[i].seq < q[j].seq
}

func (q queue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }

func (q *queue) Push(m any) { *q = append(*q, m.(message)) }

func (q *queue) Pop() any {
	last := len(*q) - 1
	m := (*q)[last]
	(*q)[last] = message{}
	*q = (*q)[:last]
	return m
}
