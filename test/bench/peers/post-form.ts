import { Agent, request } from "node:http"

const agent = new Agent({ keepAlive: true, maxSockets: 64 })

/**
 * Posts a form, or JSON, over a connection that stays open; fetch would take more of the processor than what is measured.
 *
 * @throws Error for any status but 200 and 201.
 */
export function post(
  url: string,
  body: string,
  headers: Readonly<Record<string, string>>,
): Promise<Record<string, unknown>> {
  const { promise, resolve, reject } = Promise.withResolvers<Record<string, unknown>>()
  const sent = request(
    url,
    { method: "POST", agent, headers: { ...headers, "content-length": Buffer.byteLength(body) } },
    (response) => {
      let text = ""
      response.setEncoding("utf8").on("data", (part: string) => {
        text += part
      })
      response.on("end", () => {
        const isDone = response.statusCode === 200 || response.statusCode === 201
        if (isDone) resolve(text === "" ? {} : JSON.parse(text))
        else reject(new Error(`${url} answered ${response.statusCode} ${text}`))
      })
    },
  )
  sent.on("error", reject)
  sent.end(body)
  return promise
}

export const postForm = (url: string, form: Record<string, string>, headers: Readonly<Record<string, string>>) =>
  post(url, new URLSearchParams(form).toString(), { ...headers, "content-type": "application/x-www-form-urlencoded" })

export const postJson = (url: string, value: unknown, headers: Readonly<Record<string, string>> = {}) =>
  post(url, JSON.stringify(value), { ...headers, "content-type": "application/json" })
