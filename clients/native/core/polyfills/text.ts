import { bytesFrom, callHost, primitive } from "../host.ts"

export class TextEncoder {
  readonly encoding = "utf-8"
  encode(text = ""): Uint8Array<ArrayBuffer> {
    return bytesFrom(callHost(primitive.UTF8_ENCODE, String(text)), primitive.UTF8_ENCODE)
  }
}

/** UTF-8 only. Malformed bytes are refused, also without `fatal`: the client decodes only text that it or a service encoded. */
export class TextDecoder {
  readonly encoding = "utf-8"
  decode(bytes?: ArrayBuffer | ArrayBufferView): string {
    if (bytes === undefined) return ""
    const text = callHost(primitive.UTF8_DECODE, viewOf(bytes))
    if (typeof text !== "string") throw new TypeError("the bytes are not UTF-8")
    return text
  }
}

export const viewOf = (bytes: ArrayBuffer | ArrayBufferView): Uint8Array =>
  ArrayBuffer.isView(bytes) ? new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength) : new Uint8Array(bytes)
