# Formats the lines that tests/programs/measure writes, each as one row: what, names a directory, servers, state, unit,
# and the figures of the mount, the local file system, tmpfs and passthrough_hp. Rows that differ in names, servers and
# state alone stand together. A time in ms is better when it is smaller, anything else when it is larger.
function figure(value) {
    return value == "" ? "" : sprintf(value < 100 ? "%.1f" : "%.0f", value)
}
function ratio(unit, own, other, value) {
    if (other == "") return ""
    value = unit == "ms" ? other / own : own / other
    return sprintf(value < 0.1 ? "%.3f" : "%.2f", value)
}
{
    if (!($1 in rows)) order[++count] = $1
    line = "| " $1 " | " $2 " | " $3 " | " $4 " | " $5
    for (column = 6; column <= 9; column++) line = line " | " figure($column)
    for (column = 7; column <= 9; column++) line = line " | " ratio($5, $6, $column)
    rows[$1] = rows[$1] line " |\n"
}
END {
    sides = local_name " | tmpfs | passthrough_hp"
    ratios = sides
    gsub(/[^ |]+/, "to &", ratios)
    print "| work | names | servers | cores | unit | Futago | " sides " | " ratios " |"
    print "|---|---|---|---|---|---|---|---|---|---|---|---|"
    for (number = 1; number <= count; number++) printf "%s", rows[order[number]]
}
