// An ordinary server that some requests kill: /crash and /hang.
// ../README.md shows how to run it behind Bezoar.
import { createServer } from 'node:http';

const catalogue = ['bezoar stone', 'bloodstone', 'moonstone', 'amber', 'jet'];

const answer = (response, text, status = 200) => {
  const body = text + '\n';
  response.writeHead(status, { 'Content-Type': 'text/plain; charset=utf-8', 'Content-Length': Buffer.byteLength(body) });
  response.end(body);
};

const server = createServer((request, response) => {
  const url = new URL(request.url, 'http://localhost');
  switch (url.pathname) {
    case '/healthz':
      return answer(response, 'ok');
    case '/search': {
      const q = url.searchParams.get('q') ?? '';
      return answer(response, catalogue.filter((item) => item.includes(q)).join('\n'));
    }
    case '/slow':
      return setTimeout(() => answer(response, 'done'), 500);
    case '/crash':
      return setImmediate(() => { null.length; }); // an exception that nobody catches ends Node
    case '/hang':
      return /^(a+)+$/.test('a'.repeat(64) + 'b'); // backtracks for ages; the event loop waits
    default:
      return answer(response, 'not found', 404);
  }
});

server.keepAliveTimeout = 75_000; // longer than a proxy keeps idle connections
server.listen(Number(process.env.PORT), '127.0.0.1');
