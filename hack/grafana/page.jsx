// The dashboard on one page: the panels of dashboard.json with the answers of Prometheus, formatted and drawn by Grafana's own code.
import { useEffect, useState } from 'react';
import { createRoot } from 'react-dom/client';
import {
  FieldColorModeId, FieldConfigOptionsRegistry, FieldType, ThemeContext, applyFieldOverrides, cacheFieldDisplayNames, createTheme, dateTime,
  getFieldDisplayValues, identityOverrideProcessor, standardTransformers, standardTransformersRegistry, toDataFrame, transformDataFrame,
} from '@grafana/data';
import { BigValue, GlobalStyles, PanelChrome, TimeSeries } from '@grafana/ui';
import { TableNG } from '@grafana/ui/unstable';

const { dashboard, from, to } = window.picture;
const theme = createTheme({ colors: { mode: 'light' } });
const range = { from: dateTime(from * 1000), to: dateTime(to * 1000), raw: { from: 'now-1h', to: 'now' } };
const width = 1584;
const row = 38;
const gap = 8;

// Grafana's server part registers what its libraries can do; the page registers what the dashboard uses of it.
const organize = standardTransformers.organizeFieldsTransformer;
standardTransformersRegistry.setInit(() => [{ id: organize.id, name: organize.name, transformation: async () => organize }]);
const property = (isCustom) => (path) => ({
  id: isCustom ? `custom.${path}` : path, path, name: path, isCustom, process: identityOverrideProcessor, shouldApply: () => true,
});
const properties = new FieldConfigOptionsRegistry(() => [
  ...['unit', 'min', 'max', 'decimals', 'noValue', 'thresholds', 'color'].map(property(false)),
  ...['lineWidth', 'fillOpacity', 'showPoints', 'spanNulls', 'stacking', 'drawStyle', 'lineInterpolation', 'pointSize', 'axisPlacement', 'hideFrom',
    'scaleDistribution'].map(property(true)),
]);
const green = { mode: 'absolute', steps: [{ color: 'green', value: -Infinity }] };
const defaults = {
  timeseries: {
    color: { mode: FieldColorModeId.PaletteClassic }, thresholds: green,
    custom: {
      drawStyle: 'line', lineInterpolation: 'linear', pointSize: 5, axisPlacement: 'auto', scaleDistribution: { type: 'linear' },
      hideFrom: { tooltip: false, viz: false, legend: false }, stacking: { mode: 'none', group: 'A' },
    },
  },
  stat: { color: { mode: FieldColorModeId.Thresholds }, thresholds: green },
  table: { color: { mode: FieldColorModeId.Thresholds }, thresholds: green, custom: { align: 'auto', cellOptions: { type: 'auto' } } },
};

function fieldConfigOf(panel) {
  const { defaults: own, overrides } = structuredClone(panel.fieldConfig);
  for (const step of own.thresholds?.steps ?? []) step.value ??= -Infinity;
  const others = defaults[panel.type];
  return { defaults: { ...others, ...own, custom: { ...others.custom, ...own.custom } }, overrides };
}

function tableOf({ refId, result }) {
  const labels = [...new Set(result.flatMap((series) => Object.keys(series.metric)))].sort();
  return toDataFrame({ refId, fields: [
    { name: 'Time', type: FieldType.time, values: result.map((series) => series.value[0] * 1000) },
    ...labels.map((label) => ({ name: label, type: FieldType.string, values: result.map((series) => series.metric[label] ?? '') })),
    { name: 'Value', type: FieldType.number, values: result.map((series) => Number(series.value[1])) },
  ] });
}

function seriesOf({ refId, step, legendFormat = '' }, { metric, value, values }) {
  let points = [value];
  if (values) { // Prometheus leaves out the times at which there is no value.
    const known = new Map(values);
    points = [];
    for (let time = Math.floor(from / step) * step; time <= to; time += step) points.push([time, known.get(time) ?? NaN]);
  }
  const name = legendFormat.replace(/\{\{(.+?)\}\}/g, (_, label) => metric[label] ?? '');
  return toDataFrame({ refId, fields: [
    { name: 'Time', type: FieldType.time, values: points.map(([time]) => time * 1000), config: { interval: step * 1000 } },
    { name: 'Value', type: FieldType.number, values: points.map(([, text]) => (Number.isFinite(Number(text)) ? Number(text) : null)),
      labels: metric, config: { displayNameFromDS: name || JSON.stringify(metric) } },
  ] });
}

const framesOf = (target) => (target.format === 'table' ? [tableOf(target)] : target.result.map((series) => seriesOf(target, series)));

function Content({ panel, width, height }) {
  const [data, setData] = useState();
  const fieldConfig = fieldConfigOf(panel);
  const common = { fieldConfig, theme, timeZone: 'utc', replaceVariables: (text) => text };
  useEffect(() => {
    transformDataFrame(panel.transformations ?? [], panel.targets.flatMap(framesOf)).subscribe((frames) => {
      const shown = applyFieldOverrides({ ...common, data: frames, fieldConfigRegistry: properties });
      cacheFieldDisplayNames(shown);
      setData(shown);
    });
  }, [panel]);
  if (!data) return null;
  const { options } = panel;
  if (panel.type === 'stat') {
    const [value] = getFieldDisplayValues({ ...common, data, reduceOptions: options.reduceOptions });
    return <BigValue theme={theme} value={value.display} width={width} height={height} colorMode={options.colorMode} graphMode={options.graphMode} textMode="value" />;
  }
  if (!data.some((frame) => frame.length)) {
    return <div style={{ height, display: 'grid', placeItems: 'center', color: theme.colors.text.secondary }}>{fieldConfig.defaults.noValue ?? 'No data'}</div>;
  }
  if (panel.type === 'table') {
    return <TableNG data={data[0]} width={width} height={height} initialSortBy={options.sortBy} timeRange={range} structureRev={1} />;
  }
  return <TimeSeries frames={data} structureRev={1} timeRange={range} timeZone="utc" width={width} height={height} legend={options.legend} />;
}

function Panel({ panel }) {
  const { x, y, w, h } = panel.gridPos;
  const size = { width: w * width / 24 - gap, height: h * row - gap };
  const place = { position: 'absolute', left: x * width / 24, top: y * row, ...size };
  if (panel.type === 'row') return <div style={{ ...place, fontWeight: 500, lineHeight: `${size.height}px` }}>{panel.title}</div>;
  return (
    <div style={place}>
      <PanelChrome title={panel.title} padding="md" {...size}>{(inner, height) => <Content panel={panel} width={inner} height={height} />}</PanelChrome>
    </div>
  );
}

createRoot(document.getElementById('root')).render(
  <ThemeContext.Provider value={theme}>
    <GlobalStyles />
    <div style={{ position: 'relative', margin: gap }}>{dashboard.panels.map((panel) => <Panel key={panel.id} panel={panel} />)}</div>
  </ThemeContext.Provider>,
);
