// Where the numbers of a column stand on an axis or a slider, as lambdak/table/number_scale.py: evenly where most rows are,
// and compressed beyond.

class NumberScale {
  constructor([low, first, last, high]) {
    const begin = low < first ? CONSTANTS.axis_tail : 0, end = last < high ? 1 - CONSTANTS.axis_tail : 1, width = last - first;
    const logs = (beyond) => Math.log1p(Math.max(beyond, 0) / width);
    Object.assign(this, { low, first, last, high, begin, end, width, logs, isEven: low === first && last === high });
  }

  // From 0 to 1 within the training range.
  place(x) {
    const { low, first, last, high, begin, end, width, logs } = this;
    if (!(width > 0)) return 0.5;
    if (begin && x < first) return begin - (begin * logs(first - x)) / logs(first - low);
    if (end < 1 && x > last) return end + ((1 - end) * logs(x - last)) / logs(high - last);
    return begin + ((end - begin) * (x - first)) / width;
  }

  number(place) {
    const { low, first, last, high, begin, end, width, logs } = this;
    if (place <= 0) return low;
    if (place >= 1) return high;
    if (place < begin) return first - width * Math.expm1(((begin - place) / begin) * logs(first - low));
    if (place > end) return last + width * Math.expm1(((place - end) / (1 - end)) * logs(high - last));
    return first + ((place - begin) / (end - begin)) * width;
  }

  even(count) {
    return Array.from({ length: count }, (_, k) => this.number(k / Math.max(count - 1, 1)));
  }

  // About so many round numbers, and powers of ten where it is compressed.
  ticks(count) {
    const { low, first, last, high } = this, ticks = Svg.ticks(first, last, count);
    if (this.isEven) return ticks;
    const most = Math.floor(Math.log10(Math.max(Math.abs(low), Math.abs(high), Number.MIN_VALUE)));
    for (let k = most; k > most - 16; k--) {
      for (const power of [10 ** k, -(10 ** k)]) {
        const beyond = (last < power && power <= high) || (low <= power && power < first);
        if (beyond && ticks.every((tick) => Math.abs(this.place(tick) - this.place(power)) > CONSTANTS.axis_near)) ticks.push(power);
      }
    }
    return ticks.sort((a, b) => a - b);
  }

  // A width that says how many digits a number needs there.
  unit(x) {
    return x >= this.first && x <= this.last && this.width > 0 ? this.width : this.high - this.low;
  }
}
