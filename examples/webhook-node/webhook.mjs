// An admission webhook that refuses namespaces without the label owner.
//
// The webhook needs only Node. With a certificate by the server's authority, it needs no other configuration:
//
//     miniapi serve --webhook-service owners-system/owners-webhook=127.0.0.1:9443 --apply ../webhook/config &
//     miniapi cert owners-system/owners-webhook --dir certs
//     node webhook.mjs --port 9443 --certs certs

import { readFileSync } from 'node:fs'
import { createServer } from 'node:https'
import { join } from 'node:path'
import { parseArgs } from 'node:util'

const { values: flags } = parseArgs({
  options: {
    port: { type: 'string', default: '9443' }, // 0 takes a free port
    certs: { type: 'string', default: 'certs' }, // the folder of tls.crt and tls.key
  },
})

// review answers the request of an AdmissionReview.
function review({ uid, object }) {
  if (object.metadata.labels?.owner) {
    return { uid, allowed: true }
  }
  return { uid, allowed: false, status: { code: 403, message: 'set the label owner' } }
}

async function handle(request, response) {
  // The URL has a query, as in /validate?timeout=10s.
  const { pathname } = new URL(request.url, 'https://localhost')
  const chunks = []
  for await (const chunk of request) {
    chunks.push(chunk)
  }
  if (pathname !== '/validate') {
    response.writeHead(404).end('no webhook is served here')
    return
  }
  let answer
  try {
    const { apiVersion, kind, request: asked } = JSON.parse(Buffer.concat(chunks))
    answer = { apiVersion, kind, response: review(asked) }
  } catch {
    response.writeHead(400).end('want an AdmissionReview')
    return
  }
  response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify(answer))
}

const tls = {
  cert: readFileSync(join(flags.certs, 'tls.crt')),
  key: readFileSync(join(flags.certs, 'tls.key')),
}
const server = createServer(tls, (request, response) => {
  handle(request, response).catch(() => response.destroy()) // the client is gone
})
server.listen(Number(flags.port), '127.0.0.1', () => {
  console.log(`listening on 127.0.0.1:${server.address().port}`)
})
