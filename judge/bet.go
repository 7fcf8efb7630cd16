package judge

// stakes are the fractions of its wealth that each bet puts on every look. High ones win soon where
// versions differ much, low ones where they differ little.
var stakes = [...]float64{0.25, 0.5, 0.75}

// Wealth has bounds, so that it never overflows and a version can recover from a long past: 1e30
// decides at any level, and a bet at 1e-30 never wins within a release.
const mostWealth, leastWealth = 1e30, 1e-30

// bets are the wealths of one bet for each of stakes.
//
// They are float32, and so is each step: wealth that is kept and read again stays the same.
type bets [len(stakes)]float32

func newBets() bets {
	var b bets
	for i := range b {
		b[i] = 1
	}
	return b
}

// add bets on a look in which a share of the errors was had, of which the mean is at most bound if
// the claim is true. The share is in [0, 1], the bound in (0, 1).
func (b *bets) add(share, bound float64) {
	gain := share/bound - 1
	for i, stake := range stakes {
		wealth := float64(b[i]) * (1 + stake*gain)
		b[i] = float32(min(mostWealth, max(leastWealth, wealth)))
	}
}

// wealth returns the mean of the bets, which is a bet as well.
func (b *bets) wealth() float64 {
	sum := 0.0
	for _, w := range b {
		sum += float64(w)
	}
	return sum / float64(len(b))
}
