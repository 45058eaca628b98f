package dev.signet.client.pure;

import dev.signet.client.pure.Values.Text;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.util.Arrays;
import java.util.HexFormat;

/** Performs primitives by lines. A word is {@code n} and a number, {@code t} or {@code b} and hexadecimal, or {@code -}. */
public final class PrimitiveLines {
  private PrimitiveLines() {}

  public static void main(String[] args) throws IOException {
    var box = new Box(PassphraseKeeper.SEALING, new PassphraseKeeper(new byte[1], null), Runnable::run);
    var primitives = new Primitives(box, (kind, id, bytes) -> {});
    var lines = new BufferedReader(new InputStreamReader(System.in));
    for (var line = lines.readLine(); line != null; line = lines.readLine()) {
      var arguments = Arrays.stream(line.split(" ")).map(PrimitiveLines::parse).toArray();
      System.out.println(format(primitives.call(arguments)));
    }
  }

  private static Object parse(String word) {
    var rest = word.substring(1);
    return switch (word.charAt(0)) {
      case 'n' -> Double.valueOf(rest);
      case 't' -> new Text(HexFormat.of().parseHex(rest));
      default -> HexFormat.of().parseHex(rest);
    };
  }

  private static String format(Object value) {
    if (value == null) return "-";
    if (value instanceof Double number) return "n" + number.longValue();
    if (value instanceof Text text) return "t" + HexFormat.of().formatHex(text.utf8());
    return "b" + HexFormat.of().formatHex((byte[]) value);
  }
}
