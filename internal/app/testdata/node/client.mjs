// Clients of Node.js: EventSource, WebSocket and fetch. What they see goes to the output,
// a line each.
const [, , what, url, count] = process.argv
const until = condition => new Promise(resolve => {
  const timer = setInterval(() => condition() && (clearInterval(timer), resolve()), 5)
})
const ask = async (path, options) => {
  try {
    const response = await fetch(url + path, options)
    return `${response.status} ${await response.text()}`
  } catch (error) {
    return `${error.cause?.code ?? error}`
  }
}

switch (what) {
  case 'streams': { // COUNT streams of each kind, and then GETs beside them
    let open = 0
    for (let i = 0; i < count; i++) {
      const events = new EventSource(`${url}/events?${i}`)
      events.onmessage = () => open++
      events.onerror = () => console.log('an EventSource was refused')
      const socket = new WebSocket(`${url.replace('http', 'ws')}/ws?${i}`)
      socket.onmessage = () => open++
      socket.onerror = () => console.log('a WebSocket was refused')
      await until(() => open >= 2 * (i + 1))
    }
    console.log(`${open} open`)
    for (const answer of await Promise.all(Array.from({length: 12}, (_, i) => ask(`/?${i}`)))) console.log(answer)
    break
  }
  case 'copies': { // COUNT EventSources of one URL
    let ended = 0
    const took = []
    const start = performance.now()
    for (let i = 0; i < count; i++) {
      const events = new EventSource(`${url}/events`)
      events.onmessage = () => { ended++; took.push(performance.now() - start) }
      events.onerror = () => { ended++; events.close() }
    }
    await until(() => ended >= count)
    took.sort((a, b) => a - b)
    console.log(`${took.length} open, median ${Math.round(took[took.length >> 1])} ms`)
    break
  }
  case 'socket': { // one WebSocket, until it is closed
    const socket = new WebSocket(`${url.replace('http', 'ws')}/ws`)
    socket.onmessage = message => console.log(`socket ${message.data}`)
    socket.onclose = () => { console.log('closed'); process.exit() }
    await new Promise(() => setInterval(() => {}, 60_000))
    break
  }
  case 'early': { // COUNT uploads of 50 MB
    const body = Buffer.alloc(50 << 20)
    for (let i = 0; i < count; i++) console.log(await ask('/refuses', {method: 'POST', body}))
    break
  }
}
process.exit()
