// Package judge compares the errors of a new version of a service with those of the old version
// while both serve; pure, on the standard library alone.
//
//	Look (requests and errors since the last look) ──► Evidence.Add ──► Evidence
//	Evidence, Rules ──► Evidence.Verdict ──► Worse, Fine, Unfit or NotYet
//
// A caller may look at any time and as often as it likes: the chance that a version that is no
// worse is ever rejected is at most Rules.Alpha. Nobody sets a duration, a number of looks or a
// threshold on the rate of errors.
//
// # Bets
//
// A look brings eN errors in nN requests of the new version and eO in nO of the old one. The share
// of the new version is q = nN/(nN+nO) in the requests, and s = eN/(eN+eO) in the errors. If the
// new version has at most r times the rate of errors of the old one, then the mean of s is at most
//
//	q(r) = q·r / (1-q+q·r)
//
// A bet of the fraction f against that multiplies its wealth by
//
//	1 + f·(s/q(r) - 1)
//
// whose mean is then at most 1. Wealth starts at 1, and by Ville's inequality the chance that it
// ever reaches 1/alpha is at most alpha. A bet the other way,
//
//	1 + f·((1-s)/(1-q(r)) - 1)
//
// speaks against a version that has at least r times the rate. Evidence keeps the bets on a
// grid of r, so that the ratios against which no bet has won are a confidence sequence.
//
// The bet takes nothing but the mean of a share for granted. So it holds for rates and shares of
// traffic that change from look to look, and for errors that come in bursts, if each burst is as
// likely to meet a request of the new version as any single error is. A test of the likelihood
// ratio takes errors for independent and rejects 18 % of good versions where they come by threes.
// The price is time: at equal shares no wealth can more than double in a look.
//
// For r = 1 the bound holds whatever the rates are, and for the bet the other way for each r from
// 1. For a bet against r > 1 it takes rates of a few percent, where errors are close to Poisson.
//
// # Pods that differ
//
// Pods of one version differ by their node and their neighbours, and by so much the new version may
// differ without being worse. Evidence keeps the errors of the old version by parts. Pearson's
// statistic of the parts gives each possible deviation of a pod its weight, by Bayes' rule; the
// variance within looks tells it from errors in bursts. A version is rejected only if luck and
// pods together would come to its excess of errors once in 2,000 looks. If the old version's own
// halves reject each other, and pods account for the square root of Rules.Worse, the metric is not
// fit to judge.
//
// # Quiet services
//
// Two versions without errors say nothing about their ratio. Rules.Floor is a share of errors that
// is fine anyway. It is tested by the likelihood ratio of independent errors, divided by the size
// of a burst that looks have shown.
//
// # Literature
//
//   - Waudby-Smith and Ramdas, Estimating means of bounded random variables by betting, 2023
//   - Howard, Ramdas, McAuliffe and Sekhon, Time-uniform, nonparametric, nonasymptotic confidence
//     sequences, 2021
//   - Lindon and Malek, Anytime-valid inference for multinomial count data, 2022
//   - Lindon, Sanden and Shirikian, Rapid regression detection in software deployments through
//     sequential testing, 2022
package judge
