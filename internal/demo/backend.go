package demo

import (
	"context"
	"errors"
	"net/http"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/admin"
	"github.com/bezoar-dev/bezoar/internal/adminapi"
	"github.com/bezoar-dev/bezoar/internal/ledger"
)

// A backend is the admin API's view of whichever stage runs. Without a defence
// there is nothing held against anybody, and nothing to be changed.
type backend struct{ s *Server }

var errUndefended = adminapi.NewProblem(http.StatusConflict, adminapi.CodeConflict, "the defence is off")

// guarded returns the backend of the application behind the page.
func (b backend) guarded() (admin.Backend, error) {
	b.s.mu.Lock()
	defer b.s.mu.Unlock()
	if g, ok := b.s.stage.(*guarded); ok {
		return g.app.Backend(), nil
	}
	return nil, errUndefended
}

func (b backend) Verdicts(ctx context.Context, fleet string) ([]bezoar.Verdict, error) {
	if g, err := b.guarded(); err == nil {
		return g.Verdicts(ctx, fleet)
	}
	return nil, nil
}

func (b backend) Verdict(ctx context.Context, id string) (bezoar.Verdict, error) {
	g, err := b.guarded()
	if err != nil {
		return bezoar.Verdict{}, err
	}
	return g.Verdict(ctx, id)
}

func (b backend) Quarantine(ctx context.Context, a adminapi.Add) (bezoar.Verdict, error) {
	g, err := b.guarded()
	if err != nil {
		return bezoar.Verdict{}, err
	}
	return g.Quarantine(ctx, a)
}

func (b backend) Release(ctx context.Context, id string) error {
	g, err := b.guarded()
	if err != nil {
		return err
	}
	return g.Release(ctx, id)
}

func (b backend) Letters(ctx context.Context, q ledger.LetterQuery) ([]bezoar.Letter, error) {
	if g, err := b.guarded(); err == nil {
		return g.Letters(ctx, q)
	}
	return nil, nil
}

func (b backend) Letter(ctx context.Context, id string) (bezoar.Letter, error) {
	g, err := b.guarded()
	if err != nil {
		return bezoar.Letter{}, err
	}
	return g.Letter(ctx, id)
}

func (b backend) Discard(ctx context.Context, id string) error {
	g, err := b.guarded()
	if err != nil {
		return err
	}
	return g.Discard(ctx, id)
}

func (b backend) Redrive(ctx context.Context, id string) (adminapi.Redriven, error) {
	g, err := b.guarded()
	if err != nil {
		return adminapi.Redriven{}, err
	}
	return g.Redrive(ctx, id)
}

func (b backend) Restart(ctx context.Context, fleet string) (adminapi.Restarting, error) {
	g, err := b.guarded()
	if err != nil {
		return adminapi.Restarting{}, err
	}
	return g.Restart(ctx, fleet)
}

func (b backend) Fleets() []adminapi.Fleet {
	b.s.mu.Lock()
	st := b.s.stage
	b.s.mu.Unlock()
	if st == nil {
		return nil
	}
	return []adminapi.Fleet{st.Fleet()}
}

func (b backend) Ready() error {
	b.s.mu.Lock()
	defer b.s.mu.Unlock()
	if b.s.stage == nil {
		return errors.New("the fleet is starting")
	}
	return nil
}
