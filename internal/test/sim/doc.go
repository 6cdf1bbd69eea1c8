// Package sim runs the deciding core against a simulated fleet in virtual time:
// policy/blame and policy/lane in the order in which dispatch calls them
// (admit, attempt in the fleet, crash, lane, answer or refusal), with workers
// picked as package fleet picks them, and pills, innocents and noise of every
// kind. No goroutine, clock or global randomness is involved: everything
// follows from [Scenario], and a Scenario from a seed.
//
// After every step the laws are checked:
//
//	law 2   The shares that one crash leaves on what was in flight sum to 1
//	        (±1e-9), less what was laid on abandoned attempts; a planned end
//	        leaves none; an epoch ends once.
//	law 3   A deterministic pill costs at most max(2, N) workers. What does not
//	        count is what the documentation names: probes after a quarantine
//	        has run out; deaths while convictions are suspended, because the
//	        fleet gate is closed or the worker had never answered anything,
//	        and those of the ten seconds before the gate closed, which weigh
//	        nothing any more; and a death in the lane that abandoned attempts
//	        hid. A pill that killed a lane worker that was not clean may cost
//	        1 + log2(n) more, where n ran there together. Pills whose callers
//	        hang up before they kill cost up to four times as many and two
//	        more, since in the lane they share the blame with whatever was
//	        answered there; pills that kill seconds after their answer began
//	        cost the copies that had joined by then: in the fleet 2 after one
//	        second, 4 more after two, and in the lane one a second.
//	law 4   No innocent stands convicted: its fingerprint is never refused.
//	        The exception is the first second, in which the death of many
//	        workers may not have been recognised as one; it must have been
//	        taken back after it; a bad build has four, since its rollout takes
//	        that long, and the first innocent of a run that it kills alone in
//	        the fleet and in the lane is excused. Conditional poison counts as innocent once it
//	        has been recognised. An innocent that is alone in the lane when
//	        noise kills less than half of the fleet, or fewer than six
//	        workers, is not told apart from a pill, by nobody. Nor is one whose
//	        lane worker noise kills with nothing in flight after it.
//	law 6   A mass crash or a bad build leaves no innocent convicted (as for
//	        law 4), and a mass crash closes the gate of a fleet of six workers
//	        or more that has been serving.
//	law 10  Everything the state holds stays within its bounds, and tickets,
//	        leaders and epochs are no more than what is in flight; when all
//	        have left, no ticket, leader or canary remains.
//
// With N = 1 whatever dies alone on its worker is convicted, be the worker's
// death its doing or not: scenarios with N = 1 have no idle deaths and no bad
// builds. Fleets of fewer than six workers have no mass crashes and no bad
// builds.
//
// An [Attack] is a run against an adversary instead: callers, variants and features
// are told apart, and what became of every innocent is counted. [Rows] are the
// attacks that bounds are stated for, and a [Tactic] is a stream of an adversary that
// searches. docs/attacks.md says what holds against whom.
//
// A scenario that breaks a law is shrunk: fewer requests, workers, kinds of
// pills and of noise, as long as it still breaks that law. "go test" runs small
// fleets; BEZOAR_SIM_SEEDS=200 adds as many seeds with 10,000 workers and a
// million requests each, and lets the attacks run with as many.
package sim
