import { decodeQR } from "qr/decode.js"
import { createElement } from "react"
import { renderToStaticMarkup } from "react-dom/server"
import { expect, test } from "vitest"
import { QrCode } from "./qr-code.tsx"

/** Pixels of a side of a cell. */
const scale = 4

/** The picture of a drawn code, in RGBA. */
function pictureOf(markup: string): { width: number; height: number; data: Uint8Array } {
  const width = Number(/viewBox="0 0 (\d+) \1"/.exec(markup)?.[1]) * scale
  const data = new Uint8Array(width * width * 4).fill(255)
  for (const [, left, top] of markup.matchAll(/M(\d+) (\d+)h1v1h-1z/g)) {
    for (let y = Number(top) * scale; y < (Number(top) + 1) * scale; y++) {
      const row = (y * width + Number(left) * scale) * 4
      for (let x = 0; x < scale; x++) data.fill(0, row + x * 4, row + x * 4 + 3)
    }
  }
  return { width, height: width, data }
}

test.each([
  ["a safety code", "AQAAAAAB-_".repeat(20)],
  ["a request for history", "CAESEMwJ1-QZ".repeat(8)],
])("%s is read from the drawn code", (_, text) => {
  const markup = renderToStaticMarkup(createElement(QrCode, { text, label: "Code" }))
  expect(markup).toContain('aria-label="Code"')
  expect(decodeQR(pictureOf(markup))).toBe(text)
})
