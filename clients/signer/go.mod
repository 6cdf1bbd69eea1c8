// What internal/queue/sigv4 verifies is what AWS's own signer signs.
module github.com/bezoar-dev/bezoar/clients/signer

go 1.26.0

require (
	github.com/aws/aws-sdk-go-v2 v1.48.0
	github.com/bezoar-dev/bezoar v0.0.0
)

require github.com/aws/smithy-go v1.28.9 // indirect

replace github.com/bezoar-dev/bezoar => ../..
