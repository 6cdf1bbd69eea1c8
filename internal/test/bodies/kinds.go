package bodies

import (
	"encoding/base64"
	"fmt"
)

const (
	words = "the of delivery please and customer wants a small box by Thursday instead with two keys to get into the garden where " +
		"nobody asked for it because our last invoice was wrong again naïve façade Straße 東京 información über größer cœur price total " +
		"function returns error when input is empty so we should check length before reading from buffer"
	plainWords = "please ring twice and leave it with our neighbours on the second floor because nobody is at home before six"
)

var (
	people  = []string{"Ada Lovelace", "Jürgen Müller", "María José Núñez", "Grace Hopper", "山田太郎", "Seán O'Brien", "Linus T.", "Zoë Ångström"}
	cities  = []string{"Hamburg", "San Francisco", "København", "São Paulo", "Leeds", "Zürich", "東京"}
	actions = []string{"page_view", "click", "add_to_cart", "search", "checkout_started", "video_paused"}
)

// order is what a shop sends: a customer, an address and lines.
func (w *writer) order() {
	w.inside("customer", func() {
		name := w.pick(people)
		w.int("id", 10000+w.r.IntN(900000))
		w.text("name", name)
		w.text("email", fmt.Sprintf("user%d@example.com", w.r.IntN(10000)))
		w.perhaps(2, func() { w.text("phone", fmt.Sprintf("+49 40 %07d", w.r.IntN(10000000))) })
		w.inside("address", func() {
			w.text("street", fmt.Sprintf("%s %d", w.pick(w.words), 1+w.r.IntN(200)))
			w.text("city", w.pick(cities))
			w.text("zip", fmt.Sprintf("%05d", w.r.IntN(100000)))
			w.text("country", w.pick([]string{"DE", "US", "BR", "JP"}))
		})
	})
	w.array("items", 0, func() {
		w.object(func() {
			w.text("sku", fmt.Sprintf("%c%c-%05d", 'A'+w.r.IntN(26), 'A'+w.r.IntN(26), w.r.IntN(100000)))
			w.text("title", w.prose(2+w.r.IntN(4)))
			w.int("quantity", 1+w.r.IntN(12))
			w.inside("price", func() {
				w.price("amount")
				w.text("currency", "EUR")
			})
			w.perhaps(2, func() { w.array("tags", 1+w.r.IntN(3), func() { w.quote(w.pick(w.words)) }) })
			w.perhaps(3, func() { w.text("note", w.prose(8)) })
			w.raw("gift", w.pick([]string{"true", "false", "null"}))
		})
	})
	w.price("total")
}

// events is what a page sends to an analytics service.
func (w *writer) events() {
	w.text("writeKey", base64.StdEncoding.EncodeToString([]byte(w.uuid()[:24])))
	w.array("batch", 0, func() {
		w.object(func() {
			w.text("type", "track")
			w.text("messageId", w.uuid())
			w.text("timestamp", w.time())
			w.text("event", w.pick(actions))
			w.inside("context", func() {
				w.text("url", fmt.Sprintf("https://shop.example.com/products/%d?utm_source=mail&ref=%d", w.r.IntN(100000), w.r.IntN(100)))
				w.text("userAgent", "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36")
				w.text("locale", w.pick([]string{"de-DE", "en-US", "ja-JP"}))
				w.inside("screen", func() {
					w.int("width", 640+w.r.IntN(2000))
					w.int("height", 480+w.r.IntN(1000))
					w.raw("density", w.pick([]string{"1", "1.5", "2"}))
				})
			})
			w.inside("properties", func() {
				w.price("value")
				w.int("position", w.r.IntN(50))
				w.perhaps(2, func() { w.text("label", w.prose(3)) })
				w.raw("loggedIn", w.pick([]string{"true", "false"}))
			})
		})
	})
}

// chat is a conversation with a language model.
func (w *writer) chat() {
	w.text("model", w.pick([]string{"large-2", "small-1"}))
	w.raw("temperature", w.pick([]string{"0", "0.7", "1.0"}))
	w.int("max_tokens", 256<<w.r.IntN(4))
	w.raw("stream", "false")
	w.array("messages", 0, func() {
		w.object(func() {
			w.text("role", w.pick([]string{"user", "assistant"}))
			w.text("content", w.prose(min(15+w.r.IntN(100), max(8, (w.size-len(w.b))/14))))
		})
	})
}

// search is a query of a search engine.
func (w *writer) search() {
	w.int("size", 10+w.r.IntN(90))
	w.inside("query", func() {
		w.inside("bool", func() {
			w.array("should", 0, func() {
				w.object(func() {
					switch w.r.IntN(4) {
					case 0:
						w.inside("term", func() { w.inside("status", func() { w.text("value", w.pick(w.words)) }) })
					case 1:
						w.inside("range", func() {
							w.inside("created_at", func() { w.text("gte", w.time()); w.text("lt", "now-1d/d") })
						})
					case 2:
						w.inside("terms", func() {
							w.array("product_id", 3+w.r.IntN(8), func() { w.b = fmt.Append(w.b, w.r.IntN(1000000)) })
						})
					default:
						w.inside("match", func() {
							w.inside("description", func() { w.text("query", w.prose(4)); w.raw("boost", "1.5") })
						})
					}
				})
			})
			w.int("minimum_should_match", 1)
		})
	})
	w.name("sort")
	w.b = append(w.b, `[{"created_at":"desc"},"_score"]`...)
	w.comma()
}
