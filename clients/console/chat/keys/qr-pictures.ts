// Finds a QR code in a picture: with the browser's own detector, or with a decoder that is loaded on demand.

interface Detector {
  detect(source: ImageBitmap): Promise<readonly { readonly rawValue: string }[]>
}
interface DetectorType {
  new (options: { formats: readonly string[] }): Detector
  getSupportedFormats(): Promise<readonly string[]>
}

/** Chromium on Android, macOS and ChromeOS, and Safari have one. */
async function ownDetector(): Promise<Detector | undefined> {
  const { BarcodeDetector } = globalThis as { BarcodeDetector?: DetectorType }
  const formats = (await BarcodeDetector?.getSupportedFormats().catch(() => [])) ?? []
  return BarcodeDetector !== undefined && formats.includes("qr_code")
    ? new BarcodeDetector({ formats: ["qr_code"] })
    : undefined
}

/** A larger picture has more pixels than the code has use for. */
const maxSide = 1_200

export type ReadQr = (picture: ImageBitmap) => Promise<string | undefined>

/** Prepares reading. @returns A function that returns a code's text; undefined if the picture has none. */
export async function openQrReader(): Promise<ReadQr> {
  const detector = await ownDetector()
  if (detector !== undefined) return async (picture) => (await detector.detect(picture))[0]?.rawValue
  const { decodeQR } = await import("qr/decode.js")
  return async (picture) => {
    const scale = Math.min(1, maxSide / Math.max(picture.width, picture.height))
    const width = Math.max(1, Math.round(picture.width * scale))
    const height = Math.max(1, Math.round(picture.height * scale))
    const drawing = new OffscreenCanvas(width, height).getContext("2d", { willReadFrequently: true })
    drawing?.drawImage(picture, 0, 0, width, height)
    const data = drawing?.getImageData(0, 0, width, height)
    try {
      return data && decodeQR(data)
    } catch {
      // The decoder throws for a picture without a code.
      return undefined
    }
  }
}
