@package@import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * @title@
 *
 * <p>raw score = start + scale * sum over members of weight * k-th eigenvalue of (constant + matrices of the cells).
 * Written by lambdak @version@: one class without dependencies, for Java 8 or later. Nothing in it changes: any number
 * of threads may call it.
 *
 * <p>A row is a map from names of columns to cells, or an array of cells in the order of {@link #COLUMNS}. A cell is a
 * number, a boolean, a text, or null; null and NaN are missing.
 *
 * <pre>
@columns@
 * </pre>
@guarantees@ */
public final class @name@ {
  private @name@() {}

  private static final int DIM = @dim@, SIZE = DIM * (DIM + 1) / 2, MEMBERS = @members@, DESIGN = @design@, OUTPUTS = @outputs@;
  private static final int CURVE = 0, LINE = 1, CATEGORY = 2;
  private static final double SCALE = @scale@, LARGEST = 4.4942328371557893e+307, LARGEST_OFFSET = @largest_offset@;

  /** Names of the columns, in the order of training. */
  public static final List<String> COLUMNS = texts(Data.COLUMNS);
  /** What {@link #predict} returns, in its order. */
  public static final List<String> RESULTS = texts(Data.RESULTS);
  /** The labels of a classifier, in their order; empty for other models. */
  public static final List<String> LABELS = texts(Data.LABELS);
  /** What was requested of the model and is proven of its matrices. */
  public static final List<String> GUARANTEES = texts(Data.GUARANTEES);

  private static final double[] WEIGHTS = doubles(Data.WEIGHTS), START = doubles(Data.START);
  private static final @stored@[][] BLOCKS = {@blocks@};
  private static final double[] CONSTANTS = doubles(Data.CONSTANTS);
  private static final int[] READS = ints(Data.READS); // block, family, eigenvalue and raw score
  private static final Column[] ALL = columns();

  // ---- what it offers ------------------------------------------------------------------------------------------------

  /** Returns {@link #RESULTS} of a row: a number, quantiles, or the probability of each class. */
  public static double[] predict(Map<String, ?> row) {
    return inverseLink(raw(row));
  }

  /** Returns {@link #RESULTS} of cells in the order of {@link #COLUMNS}. */
  public static double[] predict(Object[] cells) {
    return inverseLink(raw(cells));
  }

  /** Returns the raw scores of a row, before the link. */
  public static double[] raw(Map<String, ?> row) {
    return rawScores(entries(numbers(cells(row))), 0);
  }

  /** Returns the raw scores of cells in the order of {@link #COLUMNS}. */
  public static double[] raw(Object[] cells) {
    return rawScores(entries(numbers(cells)), 0);
  }
@offset_api@@class_api@@explain_api@
  // ---- cells: which matrices a row adds, and with what weights --------------------------------------------------------

  private static final class Column {
    int kind, first, count, missing, unseen;
    boolean clamp, takesText, takesNumbers;
    double low, high, median, center, scale;
    double[] knots;
    final Map<String, Integer> texts = new HashMap<>();
    final Map<Double, Integer> numbers = new HashMap<>();
  }

  private static Column[] columns() {
    int[] whole = ints(Data.WHOLE), textOwners = ints(Data.TEXT_OWNERS), textIds = ints(Data.TEXT_IDS);
    int[] numberOwners = ints(Data.NUMBER_OWNERS), numberIds = ints(Data.NUMBER_IDS);
    double[] numbers = doubles(Data.NUMBERS), knots = doubles(Data.KNOTS), levels = doubles(Data.NUMBER_LEVELS);
    List<String> words = texts(Data.TEXT_LEVELS);
    Column[] all = new Column[COLUMNS.size()];
    int used = 0;
    for (int i = 0; i < all.length; i++) {
      Column own = all[i] = new Column();
      own.kind = whole[8 * i];
      own.first = whole[8 * i + 1];
      own.count = whole[8 * i + 2];
      own.missing = whole[8 * i + 3];
      own.unseen = whole[8 * i + 4];
      own.clamp = whole[8 * i + 5] != 0;
      own.takesText = whole[8 * i + 6] != 0;
      own.takesNumbers = whole[8 * i + 7] != 0;
      own.low = numbers[5 * i];
      own.high = numbers[5 * i + 1];
      own.median = numbers[5 * i + 2];
      own.center = numbers[5 * i + 3];
      own.scale = numbers[5 * i + 4];
      own.knots = own.kind == CURVE ? Arrays.copyOfRange(knots, used, used += own.count) : null;
    }
    for (int n = 0; n < textOwners.length; n++) all[textOwners[n]].texts.put(words.get(n), textIds[n]);
    for (int n = 0; n < numberOwners.length; n++) all[numberOwners[n]].numbers.put(levels[n] + 0.0, numberIds[n]);
    return all;
  }

  private static Object[] cells(Map<String, ?> row) {
    Object[] cells = new Object[ALL.length];
    for (int i = 0; i < cells.length; i++) {
      cells[i] = row.get(COLUMNS.get(i));
      if (cells[i] == null && !row.containsKey(COLUMNS.get(i)))
        throw new IllegalArgumentException("a row must have the column " + shown(COLUMNS.get(i)) + ": put null for a missing cell");
    }
    return cells;
  }

  /** Numbers as they are; of a category the design column of the level, or -1; NaN is a missing number. */
  private static double[] numbers(Object[] cells) {
    if (cells.length != ALL.length)
      throw new IllegalArgumentException("a row must have " + ALL.length + " cells; got " + cells.length);
    double[] numbers = new double[cells.length];
    for (int i = 0; i < cells.length; i++) {
      Column own = ALL[i];
      numbers[i] = own.kind == CATEGORY ? level(own, i, cells[i]) : number(i, cells[i]);
    }
    return numbers;
  }

  private static double number(int i, Object cell) {
    if (cell == null) return Double.NaN;
    if (!(cell instanceof Number || cell instanceof Boolean))
      throw new IllegalArgumentException("column " + shown(COLUMNS.get(i)) + " must hold numbers; got " + shown(cell) + ": convert it to a number");
    double x = doubleOf(cell);
    if (Math.abs(x) > LARGEST)
      throw new IllegalArgumentException("column " + shown(COLUMNS.get(i)) + " contains infinity or a value too large; got " + shown(cell) + ": replace it with null, which counts as missing, or with a finite cap");
    return x;
  }

  private static int level(Column own, int i, Object cell) {
    if (cell == null || cell instanceof Number && Double.isNaN(((Number) cell).doubleValue())) return own.missing;
    boolean text = cell instanceof CharSequence || cell instanceof Character;
    if (!(text ? own.takesText : (cell instanceof Number || cell instanceof Boolean) && own.takesNumbers)) {
      String wanted = !own.takesText ? "numbers" : own.takesNumbers ? "texts or numbers" : "texts";
      throw new IllegalArgumentException("column " + shown(COLUMNS.get(i)) + " must hold " + wanted + ", as in training; got " + shown(cell) + ": convert it first");
    }
    Integer found = text ? own.texts.get(cell.toString()) : exact(cell) ? own.numbers.get(doubleOf(cell) + 0.0) : null;
    return found == null ? own.unseen : found;
  }

  private static double doubleOf(Object cell) {
    return cell instanceof Boolean ? ((Boolean) cell ? 1 : 0) : ((Number) cell).doubleValue();
  }

  /** Returns whether a double holds exactly this number. */
  private static boolean exact(Object cell) {
    if (!(cell instanceof Long || cell instanceof BigInteger || cell instanceof BigDecimal)) return true;
    double x = doubleOf(cell);
    return !Double.isInfinite(x) && new BigDecimal(x).compareTo(new BigDecimal(cell.toString())) == 0;
  }

  private static String shown(Object cell) {
    return cell instanceof CharSequence ? "\"" + cell + "\"" : String.valueOf(cell);
  }

  /** For each column a design column or -1, its weight, and that of the next one. */
  private static final class Entries {
    final int[] first = new int[ALL.length];
    final double[] weight = new double[ALL.length], next = new double[ALL.length];
  }

  private static Entries entries(double[] cells) {
    Entries all = new Entries();
    for (int i = 0; i < cells.length; i++) {
      Column own = ALL[i];
      double x = cells[i];
      all.weight[i] = 1;
      if (own.kind == CATEGORY) all.first[i] = (int) x;
      else if (x != x && own.missing >= 0) all.first[i] = own.missing;
      else place(own, x != x ? own.median : x, all, i);
    }
    return all;
  }

  private static void place(Column own, double x, Entries all, int i) {
    all.first[i] = own.first;
    if (own.clamp) x = x < own.low ? own.low : x > own.high ? own.high : x;
    if (own.kind == LINE) {
      all.weight[i] = (x - own.center) / own.scale;
    } else if (own.count > 1) {
      int piece = piece(own, x);
      double t = (x - own.knots[piece]) / (own.knots[piece + 1] - own.knots[piece]);
      all.first[i] += piece;
      all.weight[i] = 1 - t;
      all.next[i] = t;
    }
  }

  /** A knot belongs to the piece on its right, the last one to that on its left. */
  private static int piece(Column own, double x) {
    int low = 0, high = own.count - 2;
    while (low < high) {
      int middle = (low + high) >>> 1;
      if (x < own.knots[middle + 1]) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  // ---- raw scores: start + scale * sum of weight * eigenvalue over the members ----------------------------------------

  private static double[] rawScores(Entries entries, double offset) {
    if (!(Math.abs(offset) <= LARGEST_OFFSET)) throw new IllegalArgumentException("offset must be a finite number; got " + offset);
    double[] raw = new double[OUTPUTS], sum = new double[SIZE], packed = new double[SIZE];
    Eigen eigen = new Eigen();
    for (int m = 0; m < MEMBERS; m++) {
      for (int read = 0, block = -1, family = -1; read < READS.length; read += 4) {
        if (READS[read] != block) addUp(block = READS[read], m, entries, sum);
        if (READS[read + 1] != family) {
          family = READS[read + 1];
          for (int n = 0; n < SIZE; n++) packed[n] = CONSTANTS[(family * MEMBERS + m) * SIZE + n] + sum[n];
          eigen.take(packed);
        }
        raw[READS[read + 3]] += WEIGHTS[m] * eigen.value(READS[read + 2]);
      }
    }
    for (int i = 0; i < OUTPUTS; i++) raw[i] = START[i] + SCALE * raw[i] + offset;
    return raw;
  }

  private static void addUp(int block, int m, Entries entries, double[] sum) {
    @stored@[] own = BLOCKS[block];
    Arrays.fill(sum, 0);
    for (int i = 0; i < ALL.length; i++) {
      if (entries.first[i] < 0) continue;
      int at = (m * DESIGN + entries.first[i]) * SIZE;
      double weight = entries.weight[i], next = entries.next[i];
      if (next == 0) for (int n = 0; n < SIZE; n++) sum[n] += weight * own[at + n];
      else for (int n = 0; n < SIZE; n++) sum[n] += weight * own[at + n] + next * own[at + SIZE + n];
    }
  }

@link@
@eigen@
@explain@  // ---- constants ------------------------------------------------------------------------------------------------------

  private static ByteBuffer bytes(String[] parts) {
    byte[][] decoded = new byte[parts.length][];
    int size = 0;
    for (int i = 0; i < parts.length; i++) size += (decoded[i] = Base64.getDecoder().decode(parts[i])).length;
    ByteBuffer buffer = ByteBuffer.allocate(size).order(ByteOrder.LITTLE_ENDIAN);
    for (byte[] part : decoded) buffer.put(part);
    buffer.flip();
    return buffer;
  }

  private static double[] doubles(String[] parts) {
    ByteBuffer buffer = bytes(parts);
    double[] numbers = new double[buffer.remaining() / 8];
    buffer.asDoubleBuffer().get(numbers);
    return numbers;
  }

  private static float[] floats(String[] parts) {
    ByteBuffer buffer = bytes(parts);
    float[] numbers = new float[buffer.remaining() / 4];
    buffer.asFloatBuffer().get(numbers);
    return numbers;
  }

  private static int[] ints(String[] parts) {
    ByteBuffer buffer = bytes(parts);
    int[] numbers = new int[buffer.remaining() / 4];
    buffer.asIntBuffer().get(numbers);
    return numbers;
  }

  /** Texts in UTF-16, each after the number of its bytes. */
  private static List<String> texts(String[] parts) {
    ByteBuffer buffer = bytes(parts);
    List<String> found = new ArrayList<>();
    while (buffer.hasRemaining()) {
      char[] signs = new char[buffer.getInt() / 2];
      for (int i = 0; i < signs.length; i++) signs[i] = buffer.getChar();
      found.add(new String(signs));
    }
    return Collections.unmodifiableList(found);
  }

  /** Base64 of little-endian numbers, cut into strings that a class file can hold. */
  private static final class Data {
@data@
  }
@more_data@}
