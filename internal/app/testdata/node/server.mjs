// A server of Node.js with streams of events, WebSockets, slow answers and answers that
// come before the body has been read. Every answer names the process.
import {createHash} from 'node:crypto'
import {createServer} from 'node:http'

const server = createServer((request, response) => {
  switch (request.url.split('?')[0]) {
    case '/events':
      response.writeHead(200, {'Content-Type': 'text/event-stream'})
      response.write(`data: ${process.pid}\n\n`)
      return
    case '/refuses':
      response.writeHead(413, {Connection: 'close'})
      response.end('too long')
      return
  }
  response.end(`${process.pid}`)
})

server.on('upgrade', (request, socket) => {
  const key = request.headers['sec-websocket-key'] + '258EAFA5-E914-47DA-95CA-C5AB0DC85B11'
  socket.on('error', () => {})
  socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n' +
    `Sec-WebSocket-Accept: ${createHash('sha1').update(key).digest('base64')}\r\n\r\n`)
  const text = Buffer.from(`${process.pid}`)
  socket.write(Buffer.concat([Buffer.from([0x81, text.length]), text]))
})

server.listen(process.env.PORT, '127.0.0.1')
