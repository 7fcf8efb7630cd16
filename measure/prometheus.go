package measure

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/prometheus/client_golang/api"
	prometheus "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"
)

// Prometheus evaluates a PromQL query now, on Prometheus or a server that speaks its API.
func (s *Server) Prometheus(ctx context.Context, query string) (Answer, error) {
	limited, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	client, err := api.NewClient(api.Config{Address: s.address.String(), Client: s.client})
	if err != nil {
		return Answer{}, failed(Misconfigured, "%v", err)
	}
	// Prometheus reads 1s and 1m30s, and not 1.5s.
	whole := (s.timeout + time.Second - 1).Truncate(time.Second)
	value, warnings, infos, err := prometheus.NewAPI(client).Query(limited, query, time.Time{}, prometheus.WithTimeout(whole))
	if err != nil {
		return Answer{}, s.prometheusError(ctx, err)
	}
	answer, err := seriesOf(value)
	if err != nil {
		return Answer{}, err
	}
	if len(warnings) > 0 {
		return Answer{}, failed(BadAnswer, "the server warns that the answer may be partial: %s", s.words(strings.Join(warnings, "; ")))
	}
	for _, info := range infos[:min(len(infos), maxNotes)] {
		answer.Notes = append(answer.Notes, s.words(info))
	}
	return answer, nil
}

// bytesOfLabels is the size of labels that take as much memory as a series.
const bytesOfLabels = 1024

func seriesOf(value model.Value) (Answer, error) {
	switch value := value.(type) {
	case nil:
		return Answer{}, failed(BadAnswer, "the answer has no data")
	case *model.Scalar:
		return Answer{Series: []Series{{Value: float64(value.Value), At: value.Timestamp.Time()}}}, nil
	case model.Vector:
		if len(value) > maxSeries {
			return Answer{}, failed(BadAnswer, "the query selects %d series, more than %d", len(value), maxSeries)
		}
		answer, bytes := Answer{}, 0
		for _, sample := range value {
			if sample == nil {
				return Answer{}, failed(BadAnswer, "a series of the answer is null")
			}
			if sample.Histogram != nil {
				return Answer{}, failed(BadQuery, "the query gives native histograms: use a function that gives numbers, such as histogram_count")
			}
			labels := make(map[string]string, len(sample.Metric))
			for name, label := range sample.Metric {
				labels[string(name)] = string(label)
				bytes += len(name) + len(label)
			}
			answer.Series = append(answer.Series, Series{labels, float64(sample.Value), sample.Timestamp.Time()})
		}
		answer.size = bytes / bytesOfLabels
		return answer, nil
	default:
		return Answer{}, failed(BadQuery, "the query gives a %s: it must give a vector or a scalar", value.Type())
	}
}

// prometheusError gives an error of the API its kind.
func (s *Server) prometheusError(ctx context.Context, err error) error {
	said, is := errors.AsType[*prometheus.Error](err)
	if !is {
		return s.explain(ctx, err)
	}
	words := s.words(said.Msg + " " + said.Detail)
	switch {
	case said.Type == prometheus.ErrBadData || said.Type == prometheus.ErrExec:
		return failed(BadQuery, "the server can't evaluate the query: %s", words)
	case said.Type == prometheus.ErrBadResponse:
		return failed(BadAnswer, "%s does not speak the API of Prometheus: %s", s.address.Host, words)
	}
	return failed(Unreachable, "%s can't be asked: %s", s.address.Host, words)
}
