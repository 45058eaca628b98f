package dev.signet.guard.servlet;

import dev.signet.guard.token.Json;
import jakarta.servlet.ReadListener;
import jakarta.servlet.ServletInputStream;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletRequestWrapper;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Locale;
import java.util.regex.Pattern;

/** A request whose JSON body was read for a requirement, and that the handler reads again from its beginning. */
final class JsonBody extends HttpServletRequestWrapper {
  private static final Pattern JSON =
      Pattern.compile("application/(json|connect\\+json)\\s*(;.*)?", Pattern.CASE_INSENSITIVE);
  private static final Pattern CHARSET = Pattern.compile("charset\\s*=\\s*\"?([^\";\\s]*)");

  private final byte[] head;
  private final boolean isWhole;
  private ServletInputStream stream;
  private BufferedReader reader;

  /** @param maxBytes how much of it is held: a longer body still reaches the handler, but nothing in it is believed */
  JsonBody(HttpServletRequest request, int maxBytes) throws IOException {
    super(request);
    head = request.getInputStream().readNBytes(maxBytes + 1);
    isWhole = head.length <= maxBytes;
  }

  /** The JSON; null when it is none, is too long, is no UTF-8, or has a name twice: then nothing in it is believed. */
  Object json() {
    if (!isWhole || !isUtf8Json(getContentType())) return null;
    try {
      var parsed = Json.parse(StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(head)).toString());
      return parsed.hasDuplicateNames() ? null : parsed.value();
    } catch (IOException | IllegalArgumentException error) {
      return null;
    }
  }

  /** In another charset a handler would read another text. */
  private static boolean isUtf8Json(String contentType) {
    if (contentType == null || !JSON.matcher(contentType.trim()).matches()) return false;
    var charset = CHARSET.matcher(contentType.toLowerCase(Locale.ROOT));
    while (charset.find()) if (!charset.group(1).equals("utf-8")) return false;
    return true;
  }

  @Override
  public ServletInputStream getInputStream() throws IOException {
    if (reader != null) throw new IllegalStateException("getReader was called");
    if (stream == null) stream = new Again(super.getInputStream());
    return stream;
  }

  @Override
  public BufferedReader getReader() throws IOException {
    if (reader != null) return reader;
    if (stream != null) throw new IllegalStateException("getInputStream was called");
    var encoding = getCharacterEncoding();
    var again = new Again(super.getInputStream());
    reader = new BufferedReader(new InputStreamReader(again, encoding == null ? "UTF-8" : encoding));
    return reader;
  }

  /** What was read, then the rest. */
  private final class Again extends ServletInputStream {
    private final ServletInputStream rest;
    private int at;

    Again(ServletInputStream rest) {
      this.rest = rest;
    }

    @Override
    public int read() throws IOException {
      if (at < head.length) return head[at++] & 0xff;
      return isWhole ? -1 : rest.read();
    }

    @Override
    public int read(byte[] into, int from, int length) throws IOException {
      if (length == 0) return 0;
      if (at >= head.length) return isWhole ? -1 : rest.read(into, from, length);
      int read = Math.min(length, head.length - at);
      System.arraycopy(head, at, into, from, read);
      at += read;
      return read;
    }

    @Override
    public boolean isFinished() {
      return at >= head.length && (isWhole || rest.isFinished());
    }

    @Override
    public boolean isReady() {
      return at < head.length || isWhole || rest.isReady();
    }

    @Override
    public void setReadListener(ReadListener listener) {
      throw new IllegalStateException("the body was read: it is read again by blocking calls");
    }
  }
}
