// A client that keeps its connections, and a fixed number of calls in the air.
import http from "node:http"
import http2 from "node:http2"

export interface Load {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
  readonly isHttp2: boolean
}

const inTheAir = 16

export interface Driver {
  /** Makes that many calls. Throws when one is not answered with 200. */
  readonly calls: (count: number) => Promise<void>
  readonly close: () => void
}

export function driver(load: Load): Driver {
  const { call, close } = load.isHttp2 ? overHttp2(load) : overHttp1(load)
  return {
    close,
    async calls(count) {
      let left = count
      const worker = async () => {
        while (left-- > 0) await call()
      }
      await Promise.all(Array.from({ length: inTheAir }, worker))
    },
  }
}

function overHttp1({ url, headers, body }: Load) {
  const agent = new http.Agent({ keepAlive: true, maxSockets: inTheAir })
  const options = { method: "POST", agent, headers: { ...headers, "content-length": body.length } }
  const call = () =>
    new Promise<void>((resolve, reject) => {
      const request = http.request(url, options, (response) => {
        response.resume().on("end", () => settle(response.statusCode, resolve, reject))
      })
      request.on("error", reject).end(body)
    })
  return { call, close: () => agent.destroy() }
}

function overHttp2({ url, headers, body }: Load) {
  const { origin, pathname } = new URL(url)
  const session = http2.connect(origin)
  const call = () =>
    new Promise<void>((resolve, reject) => {
      const stream = session.request({ ":method": "POST", ":path": pathname, ...headers })
      let status: number | undefined
      stream.on("response", (fields) => {
        status = fields[":status"]
      })
      stream.on("error", reject).on("end", () => settle(status, resolve, reject))
      stream.resume()
      stream.end(body)
    })
  return { call, close: () => session.close() }
}

function settle(status: number | undefined, resolve: () => void, reject: (error: Error) => void): void {
  if (status === 200) resolve()
  else reject(new Error(`status ${status}`))
}
